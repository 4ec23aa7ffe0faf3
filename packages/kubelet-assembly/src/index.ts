export { type AssembledKubelet, assembleKubelet } from './assemble.ts';
export type { AssemblySettings, Decorations, NodePorts, PodSourcePort } from './ports.ts';
