"""Live sources into item lists and dish sets: what may be asked, what is kept, and when it is refused."""
