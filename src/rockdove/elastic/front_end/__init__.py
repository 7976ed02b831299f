"""Front-ends that come and go behind a dispatcher: BDQS's cluster monitor."""
