import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import type { ControlPlaneBinaries } from '@node-agent/tools-control-plane';
import type { ConformanceOptions } from './options.ts';
import type { Programs } from './programs.ts';
import type { Selection } from './suite.ts';

/** All that a run inside its namespaces is told, as a file. */
export interface Plan {
  readonly directory: string;
  readonly output: string;
  readonly selection: Selection & Pick<ConformanceOptions, 'ownDisk'>;
  readonly programs: Programs;
  readonly controlPlane: ControlPlaneBinaries;
  readonly containerd: ContainerdBinaries;
  readonly kubelet: string;
}

/** The file in the output with a run's findings. */
export const EVIDENCE = 'evidence.json';
