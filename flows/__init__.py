"""The one loop and what is made of its runs: flows, comparisons and rows read again. No arithmetic."""
