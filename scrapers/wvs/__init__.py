"""Languages spoken at home by respondents of the World Values Survey, from the user's files."""
