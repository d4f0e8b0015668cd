"""Languages spoken at home by respondents of the World Values Survey, from files of the user's."""
