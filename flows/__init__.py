"""One @flow per evaluation: the order of work, no arithmetic."""
