export { type AssembledKubelet, assembleKubelet } from './assemble.ts';
export type { ClusterPart } from './cluster-part.ts';
export type { ClusterPorts, ClusterSettings } from './cluster-ports.ts';
export type { AssemblySettings, Decorations, NodePorts, PodSourcePort } from './ports.ts';
