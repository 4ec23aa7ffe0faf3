import { basename, join } from 'node:path';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { formatProblem, readManifest } from '@node-agent/pod-config';
import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { CtlError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { DirectoryFile, NewManifest } from './plan.ts';

/** The kubelet's limit of a manifest. */
export const MAX_MANIFEST_BYTES: number = 1024 * 1024;
/** Only root and the kubelet read manifests, which may contain secrets. */
const MODE = 0o600;

type Files = Pick<FileSystem, 'stat' | 'readdir' | 'open' | 'writeFileAtomic' | 'remove'>;

/** The directory from which a kubelet reads static pods. Nothing outside of the directory is written or removed. */
export class StaticDirectory {
  readonly #fs: Files;
  readonly #path: string;
  readonly nodeName: string;

  constructor(fs: Files, options: { readonly path: string; readonly nodeName: string }) {
    this.#fs = fs;
    this.#path = options.path;
    this.nodeName = options.nodeName;
  }

  /** Returns the manifests that the kubelet reads: hidden files and directories are skipped. @throws CtlError */
  async files(): Promise<readonly DirectoryFile[]> {
    try {
      const entries = await this.#fs.readdir(this.#path);
      const names = entries.flatMap(({ name, kind }) => (name.startsWith('.') || kind === 'directory' ? [] : [name]));
      const files: DirectoryFile[] = [];
      for (const name of names.sort()) {
        const bytes = await this.#bytesOf(name);
        if (bytes !== undefined) files.push({ name, bytes, pods: this.#read(name, bytes).pods.map(podKey) });
      }
      return files;
    } catch (error) {
      if (error instanceof CtlError) throw error;
      throw new CtlError(`read ${this.#path}: ${errorText(error)}`, exitCodes.failed, { cause: error });
    }
  }

  /**
   * Validates a manifest by the rules of the kubelet.
   * @param source name of the manifest in messages
   * @returns the manifest, and warnings about fields that the kubelet ignores
   * @throws CtlError `invalidManifest` with all problems
   */
  check(bytes: Uint8Array, source: string): { readonly manifest: NewManifest; readonly warnings: readonly string[] } {
    const { pods, problems } = this.#read(source, bytes);
    const errors = problems.filter(({ isWarning }) => isWarning !== true);
    const [first] = pods;
    if (errors.length > 0 || first === undefined) {
      const lines = errors.map(formatProblem);
      const text = lines.length > 0 ? lines.join('\n') : `${source}: holds no pod`;
      throw new CtlError(text, exitCodes.invalidManifest);
    }
    const keys = pods.map(podKey);
    const double = keys.find((key, index) => keys.indexOf(key) !== index);
    if (double !== undefined) throw new CtlError(`${source}: defines ${double} twice`, exitCodes.invalidManifest);
    const suffix = `-${this.nodeName.toLowerCase()}`;
    const fileName = `${first.metadata.namespace ?? 'default'}_${first.metadata.name.slice(0, -suffix.length)}.yaml`;
    return {
      manifest: { bytes, pods: keys, fileName },
      warnings: problems.filter(({ isWarning }) => isWarning === true).map(formatProblem),
    };
  }

  /** Writes a manifest so that the kubelet sees the old or the new content, never a part. @throws CtlError */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#change(name, 'write', (path) => this.#fs.writeFileAtomic(path, bytes, { mode: MODE }));
  }

  /** Removes a manifest. @throws CtlError */
  async remove(name: string): Promise<void> {
    await this.#change(name, 'remove', (path) => this.#fs.remove(path));
  }

  async #change(name: string, verb: string, change: (path: string) => Promise<void>): Promise<void> {
    const path = join(this.#path, name);
    if (basename(path) !== name || name.startsWith('.')) throw new CtlError(`${verb} ${name}: must be a file name`);
    try {
      await change(path);
    } catch (error) {
      throw new CtlError(`${verb} ${path}: ${errorText(error)}`, exitCodes.failed, { cause: error });
    }
  }

  /** Returns the content of a manifest; `undefined` if the file was removed or is not a regular file. */
  async #bytesOf(name: string): Promise<Uint8Array | undefined> {
    const path = join(this.#path, name);
    try {
      if ((await this.#fs.stat(path)).kind !== 'file') return undefined;
      return await readFileBounded(this.#fs, path, MAX_MANIFEST_BYTES);
    } catch (error) {
      if (isMissing(error)) return undefined;
      // The kubelet cannot read the file either, so it defines no pod.
      return Buffer.alloc(0);
    }
  }

  #read(source: string, bytes: Uint8Array) {
    const location = join(this.#path, basename(source));
    const { pods, problems } = readManifest(bytes, { kind: 'file', location, nodeName: this.nodeName });
    return { pods, problems: problems.map((problem) => ({ ...problem, source })) };
  }
}

/** Returns `NAMESPACE/NAME` of a pod. */
function podKey({ metadata }: Pod): string {
  return `${metadata.namespace ?? 'default'}/${metadata.name}`;
}
