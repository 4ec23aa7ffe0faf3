export { buildSingleFiles, type SingleFile } from './package/build.ts';
export { type DebianContent, debianPackage } from './package/debian-package.ts';
export { nodeAgentPackage } from './package/node-agent-package.ts';
export { debianVersion, readSource, type Source } from './package/source.ts';
