"""One slice per evaluation, with the same file names in each: params, requests, scores, steps."""
