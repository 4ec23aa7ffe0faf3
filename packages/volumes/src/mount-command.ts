import { execFile } from 'node:child_process';
import type { FileSystem } from '@node-agent/host';
import { VolumeError } from './errors.ts';
import { type Mounter, readMountPoints } from './mounter.ts';

/** Mounts through mount(8) and umount(8), as upstream does (`k8s.io/mount-utils`). Linux only; needs CAP_SYS_ADMIN. */
export class MountCommand implements Mounter {
  readonly #fs: Pick<FileSystem, 'readFile'>;

  constructor(components: { readonly fs: Pick<FileSystem, 'readFile'> }) {
    this.#fs = components.fs;
  }

  mountPoints(): Promise<ReadonlyMap<string, string>> {
    return readMountPoints(this.#fs);
  }

  mount(
    source: string,
    target: string,
    fsType: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const optionArguments = options.length > 0 ? ['-o', options.join(',')] : [];
    return run('mount', ['-t', fsType, ...optionArguments, '--', source, target], signal);
  }

  unmount(target: string, signal: AbortSignal): Promise<void> {
    return run('umount', ['--', target], signal);
  }
}

function run(command: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { signal }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const said = stderr.trim() || error.message;
      reject(new VolumeError('MountFailed', `${command} ${args.join(' ')} failed: ${said}`, error));
    });
  });
}
