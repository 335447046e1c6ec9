"""Those who judge: the protocol, the embedded judge, and the judge behind an endpoint."""
