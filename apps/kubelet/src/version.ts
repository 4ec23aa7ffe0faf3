/** The Kubernetes release that this kubelet follows. */
const KUBERNETES_VERSION = 'v1.36.3';

/** This project's own release. */
const NODE_AGENT_VERSION = '0.1.0';

/** What `kubelet --version` says and the node reports: a semantic version that tells both. */
export const KUBELET_VERSION: string = `${KUBERNETES_VERSION}+node-agent.${NODE_AGENT_VERSION}`;
