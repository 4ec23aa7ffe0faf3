import { type Clock, checkComponents } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { type EventRecorder, type Logger, withDefaults } from '@node-agent/telemetry';
import type { VolumePlugin } from '../manager/plugin.ts';
import { DiskPlugin, type DiskPluginComponents } from './disk-plugin.ts';
import type { DiskTools } from './disk-tools.ts';
import { FcDisks } from './fc/fc-disks.ts';
import { IscsiDisks, type IscsiDisksComponents } from './iscsi/iscsi-disks.ts';

/** Dependencies of {@link networkDiskPlugins}. */
export interface NetworkDiskComponents extends Omit<DiskPluginComponents, 'disks'> {
  readonly fs: DiskPluginComponents['fs'] & Pick<FileSystem, 'exists'>;
  readonly tools: DiskTools;
  /** Secrets with CHAP credentials of iSCSI targets. Absent without an API server. */
  readonly secrets?: NonNullable<IscsiDisksComponents['secrets']>;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

/** Returns the plugins for disks of other machines: iSCSI and Fibre Channel. */
export function networkDiskPlugins(given: NetworkDiskComponents): readonly VolumePlugin[] {
  checkComponents('networkDiskPlugins', given, { tools: ['run', 'write'] });
  const components = withDefaults(given);
  return [
    // Directories `iface-NAME/PORTAL-IQN-lun-LUN`.
    new DiskPlugin({ ...components, disks: new IscsiDisks(components) }, 2),
    // Directories `WWN-lun-LUN` or `WWID`.
    new DiskPlugin({ ...components, disks: new FcDisks(components) }, 1),
  ];
}
