export { type AssembledKubelet, assembleKubelet } from './assemble.ts';
export type { AssemblySettings, NodePorts, PodSourcePort } from './ports.ts';
