import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import type { ControlPlaneBinaries } from '@node-agent/tools-control-plane';
import type { ConformanceOptions } from './options.ts';
import type { Programs } from './programs.ts';
import type { Sidecars } from './sidecars.ts';
import type { Selection } from './suite.ts';

/** Input of a run inside its namespaces, passed as a JSON file. */
export interface Plan {
  readonly directory: string;
  readonly output: string;
  readonly selection: Selection & Pick<ConformanceOptions, 'ownDisk' | 'cluster' | 'deploysProxy'>;
  readonly programs: Programs;
  /** Sidecars of CSI drivers; absent if the specs deploy no CSI driver. */
  readonly sidecars?: Sidecars;
  readonly controlPlane: ControlPlaneBinaries;
  readonly containerd: ContainerdBinaries;
  readonly kubelet: string;
}

/** File name of a run's findings in its output directory. */
export const EVIDENCE = 'evidence.json';
