"""Parts of the one loop: requests, what is left to do, the steps that do it, the rows that follow."""
