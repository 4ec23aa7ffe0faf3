import { join } from 'node:path';
import type { CapacityLimits } from '../rules/capacity.ts';
import { type FlagRules, flagUsage, parseFlags } from './flags.ts';
import { parseSize } from './size.ts';

/**
 * Flags of the driver. Names and meanings are those of the host path driver, because upstream's suites patch its
 * deployments; the last group is this driver's own.
 */
const DRIVER_FLAGS = {
  endpoint: { type: 'text', meaning: 'socket of the CSI services', default: 'unix:///tmp/csi.sock' },
  drivername: { type: 'text', meaning: 'name of the driver', default: 'hostpath.csi.k8s.io' },
  nodeid: { type: 'text', meaning: 'ID of this node' },
  statedir: { type: 'text', meaning: 'directory of the state and the content of volumes', default: '/csi-data-dir' },
  'proxy-endpoint': {
    type: 'text',
    meaning: 'serve no driver: connect each client of the endpoint with a client of this TCP endpoint (tcp://:9000)',
  },
  maxvolumespernode: { type: 'integer', meaning: 'limit that NodeGetInfo reports; 0 reports none' },
  'attach-limit': { type: 'integer', meaning: 'number of volumes that can be attached; 0 is unlimited' },
  capacity: { type: 'texts', meaning: 'capacity of a storage kind, KIND=SIZE; repeatable' },
  'max-volume-size': { type: 'text', meaning: 'size limit of a volume', default: '1Ti' },
  'enable-attach': { type: 'boolean', meaning: 'ControllerPublishVolume is required before a volume is used' },
  'enable-topology': { type: 'boolean', meaning: 'volumes are accessible from this node only', default: 'true' },
  'check-volume-lifecycle': { type: 'boolean', meaning: 'reject DeleteVolume of a volume that is used' },
  'enable-volume-expansion': { type: 'boolean', meaning: 'volumes can grow', default: 'true' },
  'node-expand-required': { type: 'boolean', meaning: 'an expansion is completed by the node', default: 'true' },
  'disable-controller-expansion': { type: 'boolean', meaning: 'only the node expands volumes' },
  'disable-node-expansion': { type: 'boolean', meaning: 'only the controller expands volumes' },
  'enable-controller-modify-volume': { type: 'boolean', meaning: 'serve ControllerModifyVolume' },
  'accepted-mutable-parameter-names': { type: 'texts', meaning: 'accepted parameters; if unset, all are accepted' },
  v: {
    type: 'integer',
    meaning: 'log level: 0 starts and stops, 2 failed calls, 3 the `gRPCCall:` lines of upstream, 4 all calls',
  },
  version: { type: 'boolean', meaning: 'print the version and exit' },
  help: { type: 'boolean', meaning: 'print the flags and exit' },
  'enable-volume-mount-group': { type: 'boolean', meaning: 'the driver gives volumes to the fsGroup (own flag)' },
  'shared-statedir': {
    type: 'boolean',
    meaning: 'several drivers have the same statedir: use the subdirectory with the name of this driver (own flag)',
  },
  'omit-stage': { type: 'boolean', meaning: 'volumes are published without being staged (own flag)' },
  'control-file': { type: 'text', meaning: 'file with faults and delays, read at each call (own flag)' },
  'call-log': { type: 'text', meaning: 'file to which each call is appended as a line of JSON (own flag)' },
} as const satisfies FlagRules;

/** Settings of the driver. */
export interface DriverOptions {
  readonly socketPath: string;
  readonly driverName: string;
  readonly nodeId: string;
  readonly stateDir: string;
  readonly maxVolumesPerNode: number;
  readonly attachLimit: number;
  readonly limits: CapacityLimits;
  readonly attaches: boolean;
  readonly hasTopology: boolean;
  readonly checksLifecycle: boolean;
  readonly expandsOnController: boolean;
  readonly expandsOnNode: boolean;
  readonly nodeExpandRequired: boolean;
  readonly modifies: boolean;
  readonly acceptedMutableParameters: readonly string[];
  readonly setsMountGroup: boolean;
  readonly stages: boolean;
  readonly verbosity: number;
  /** Path of the control file; '' if there is none. */
  readonly controlFile: string;
  /** Path of the call log; '' if there is none. */
  readonly callLog: string;
}

/** Command of the program. */
export type DriverCommand =
  | { readonly do: 'help' | 'version' }
  | { readonly do: 'proxy'; readonly socketPath: string; readonly host: string; readonly port: number }
  | { readonly do: 'serve'; readonly options: DriverOptions };

/** Parses the arguments of the driver. @throws Error that names the flag */
export function driverCommand(args: readonly string[]): DriverCommand {
  const flags = parseFlags(DRIVER_FLAGS, args);
  if (flags.help) return { do: 'help' };
  if (flags.version) return { do: 'version' };
  const socketPath = socketPathOf('endpoint', flags.endpoint);
  if (flags['proxy-endpoint'] !== '') return { do: 'proxy', socketPath, ...tcpAddress(flags['proxy-endpoint']) };
  if (flags.nodeid === '') throw new Error('flag --nodeid is required');
  if (flags.drivername === '') throw new Error('flag --drivername must not be empty');
  if (flags['shared-statedir'] && flags.drivername.includes('/')) {
    throw new Error('flag --drivername must not contain a slash with --shared-statedir');
  }
  if (!flags.statedir.startsWith('/')) throw new Error('flag --statedir must be an absolute path');
  const expands = flags['enable-volume-expansion'];
  const options: DriverOptions = {
    socketPath,
    driverName: flags.drivername,
    nodeId: flags.nodeid,
    stateDir: flags['shared-statedir'] ? join(flags.statedir, flags.drivername) : flags.statedir,
    maxVolumesPerNode: flags.maxvolumespernode,
    attachLimit: flags['attach-limit'],
    limits: { maxVolumeBytes: sizeOf('max-volume-size', flags['max-volume-size']), capacity: kinds(flags.capacity) },
    attaches: flags['enable-attach'],
    hasTopology: flags['enable-topology'],
    checksLifecycle: flags['check-volume-lifecycle'],
    expandsOnController: expands && !flags['disable-controller-expansion'],
    expandsOnNode: expands && !flags['disable-node-expansion'],
    nodeExpandRequired: flags['node-expand-required'],
    modifies: flags['enable-controller-modify-volume'],
    acceptedMutableParameters: flags['accepted-mutable-parameter-names'],
    setsMountGroup: flags['enable-volume-mount-group'],
    stages: !flags['omit-stage'],
    verbosity: flags.v,
    controlFile: flags['control-file'],
    callLog: flags['call-log'],
  };
  return { do: 'serve', options };
}

/** Returns the path of a unix endpoint: `unix:///path`, `unix:/path` or the path itself. @throws Error with the flag */
export function socketPathOf(flag: string, endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, '');
  if (path.startsWith('/')) return path;
  throw new Error(`flag --${flag} must be the absolute path of a unix socket, not ${JSON.stringify(endpoint)}`);
}

function tcpAddress(endpoint: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^tcp:\/\/([^:/]*):(\d{1,5})$/.exec(endpoint) ?? [];
  if (port === '') throw new Error(`flag --proxy-endpoint must be tcp://HOST:PORT, not ${JSON.stringify(endpoint)}`);
  return { host: host === '' ? '0.0.0.0' : host, port: Number(port) };
}

function kinds(entries: readonly string[]): ReadonlyMap<string, number> {
  return new Map(
    entries.map((entry) => {
      const [, kind = '', size = ''] = /^([^=]+)=(.+)$/.exec(entry) ?? [];
      if (kind === '') throw new Error(`flag --capacity must be KIND=SIZE, not ${JSON.stringify(entry)}`);
      return [kind, sizeOf('capacity', size)];
    }),
  );
}

function sizeOf(flag: string, text: string): number {
  try {
    return parseSize(text);
  } catch (error) {
    throw new Error(`flag --${flag}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Returns the text that `--help` prints. */
export function driverUsage(): string {
  return `Usage: csi-driver --nodeid=NODE [flags]
A CSI driver whose volumes are directories and loop devices of this machine.
${flagUsage(DRIVER_FLAGS)}`;
}
