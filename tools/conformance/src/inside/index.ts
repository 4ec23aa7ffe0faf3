// Parts of a run of e2e_node.test, for other tools that run the suite on a machine of their own.
export { prepareNetwork } from '../isolation.ts';
export { readReport, type SpecResult } from '../specs.ts';
export { nodeArguments, REPORT, runSuite } from '../suite.ts';
export { machineFacts, unfitReason } from '../unfit.ts';
export { prepareNodeSuite } from './node-suite.ts';
