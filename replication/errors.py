"""The exceptions of Isthmus: configuration, environment, cluster unavailable or rejecting.

ReplicationError
├── ConfigError            the operator must fix a file or an argument; retrying cannot help
├── EnvironmentProblem     this machine lacks something: Java, a port, disk space
├── ClusterUnavailable     the cluster did not answer; the same call may work later
│   ├── WrongCluster       another cluster answered
│   └── UntrustedConnection   TLS: one side does not trust the other's certificate
├── ClusterRejected        the cluster rejected the request; the same call will fail again
│   ├── LoginRejected      it does not let our user in, or our user gets no token
│   └── NoAuthorizer       it has no ACLs at all
├── CorruptBatch           bytes that are no record batch; names topic-partition and offset
└── FlowTaken              another driver holds the flow
"""


class ReplicationError(Exception):
    """Base of the hierarchy; ``retriable`` says whether the same call may work later."""

    retriable = False


class ConfigError(ReplicationError):
    """The configuration is wrong. The message names each key, its file:line and a fix."""


class EnvironmentProblem(ReplicationError):
    """The machine lacks something that Isthmus needs. The message says what to install or free."""


class ClusterUnavailable(ReplicationError):
    """The cluster could not be reached or did not answer in time."""

    retriable = True


class WrongCluster(ClusterUnavailable):
    """The address leads to another cluster than before. The message names both ids."""


class UntrustedConnection(ClusterUnavailable):
    """One side does not trust the other's certificate. It may be renewed without a restart."""


class ClusterRejected(ReplicationError):
    """The cluster rejected the request (authorization, policy, invalid value)."""


class LoginRejected(ClusterRejected):
    """The cluster does not let our user in, or our user gets no token."""


class NoAuthorizer(ClusterRejected):
    """The cluster has no authorizer, so it has no ACLs."""


class CorruptBatch(ReplicationError):
    """Bytes from a cluster that are not the record batch they claim to be.

    ``offset``: of the first record as the header of a damaged batch says; None: unknown.
    """

    offset: int | None = None


class NotCountable(ReplicationError):
    """Records of the source are not those that were copied: some were removed, or replaced."""


class FlowTaken(ReplicationError):
    """Another driver holds the flow's lease; the message names its host and process."""
