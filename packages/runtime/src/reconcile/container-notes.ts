import { dirname, join } from 'node:path';
import { errorCode, type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import type { RestartOwed, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import { containerFilesPath } from '../config/termination-file.ts';
import { PodRuntimeError } from '../errors.ts';

/** Unfinished work on one container. */
export interface ContainerNote {
  /** ID of the container in the runtime. */
  readonly id: string;
  /** Reason of the pending restart; set if the container is stopped in order to restart it. */
  readonly restart?: RestartOwed;
  /** Set as long as the `postStart` hook of the container has not succeeded. */
  readonly postStart?: true;
  /** Set if the `postStart` hook of the container has failed and the container must be stopped if it still runs. */
  readonly hookFailed?: true;
  /**
   * Set if StartContainer got no response, or an error: the container may run nevertheless. This field is not saved on
   * disk.
   */
  readonly starting?: 'unanswered' | 'refused';
  /**
   * Pending restart of the attempt before this container. The restart stays pending until this container has started.
   */
  readonly replaces?: PendingRestart;
}

/** An attempt of a container that was stopped in order to restart it. */
interface PendingRestart {
  readonly id: string;
  readonly restart: RestartOwed;
}

/** State of the writes of one pod's notes file. */
interface Writes {
  last: Promise<void>;
  /** Write that is requested but has not started. */
  next?: Promise<void> | undefined;
}

/** Returns the pending restart of a note, which the note of the next attempt must keep. */
export function pendingRestart(note: ContainerNote | undefined): Pick<ContainerNote, 'replaces'> {
  const pending = note?.restart === undefined ? note?.replaces : { id: note.id, restart: note.restart };
  return pending === undefined ? {} : { replaces: pending };
}

type Files = Pick<FileSystem, 'open' | 'mkdir' | 'writeFileAtomic' | 'remove'>;

const NOTHING: ReadonlyMap<string, ContainerNote> = new Map();
/**
 * Errors that mean that the file is not one that a kubelet wrote: it is too large, a FIFO, a directory or a loop of
 * links.
 */
const NOT_OURS: ReadonlySet<string | undefined> = new Set(['EFBIG', 'ENXIO', 'EISDIR', 'ELOOP']);
/** Maximum size of a notes file; larger than the notes of a pod with thousands of containers. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Notes about unfinished work on containers (a pending restart, a `postStart` hook that has not succeeded), by pod and
 * container name. Notes survive a kubelet restart. A container that was stopped because of its liveness probe exits
 * with code 0 if it handles SIGTERM, and only the note shows that the container has not completed. A container name
 * has at most one note; the note of a later attempt replaces that of the earlier attempt.
 *
 * The notes of a pod are kept in memory from its first sync until {@link forget}.
 */
export class ContainerNotes {
  readonly #fs: Files;
  readonly #logger: Logger;
  readonly #rootDirectory: string;
  readonly #byPod = new Map<string, Map<string, ContainerNote>>();
  readonly #writes = new Map<string, Writes>();
  /** UIDs of the pods whose notes on disk are older than those in memory, because a write failed. */
  readonly #unwritten = new Set<string>();

  constructor(
    components: { readonly fs: Files; readonly logger: Logger },
    { rootDirectory }: { readonly rootDirectory: string },
  ) {
    this.#fs = components.fs;
    this.#logger = components.logger;
    this.#rootDirectory = rootDirectory;
  }

  /** Number of pods with notes in memory, for leak checks. */
  get size(): number {
    return this.#byPod.size;
  }

  /** Returns the note of a container; `undefined` if there is none or the notes of its pod are not loaded. */
  get(podUid: string, container: string): ContainerNote | undefined {
    return this.#byPod.get(podUid)?.get(container);
  }

  /**
   * Reads the notes of a pod that an earlier kubelet left, once per pod. If the last write of the file failed, the file
   * is written again.
   * @throws PodRuntimeError `UnreadableNotes`; the next call tries again
   */
  async load(podUid: string): Promise<void> {
    await this.#fill(podUid);
    if (this.#unwritten.has(podUid)) await this.#save(podUid);
  }

  async #fill(podUid: string): Promise<void> {
    if (this.#byPod.has(podUid)) return;
    const notes = await this.#fromFile(podUid);
    if (!this.#byPod.has(podUid)) this.#byPod.set(podUid, new Map(notes));
  }

  /**
   * Returns the notes of a pod without caching them, because the status of a pod is also read before its first sync and
   * after the pod was forgotten (K4).
   * @throws PodRuntimeError `UnreadableNotes`
   */
  async read(podUid: string): Promise<ReadonlyMap<string, ContainerNote>> {
    const known = this.#byPod.get(podUid);
    if (known !== undefined) return known;
    const notes = await this.#fromFile(podUid);
    return this.#byPod.get(podUid) ?? notes;
  }

  /** Records that the runtime has no container or sandbox of a pod, so that {@link load} need not read a file. */
  nothingToLoad(podUid: string): void {
    if (!this.#byPod.has(podUid)) this.#byPod.set(podUid, new Map());
  }

  /**
   * Resolves when the note is on disk or could not be written. If the note could not be written, the sync continues and
   * the next sync writes the note again. If the kubelet restarts before that, the note is lost.
   */
  async put(podUid: string, container: string, note: ContainerNote): Promise<void> {
    await this.#fill(podUid);
    const notes = this.#byPod.get(podUid) ?? new Map<string, ContainerNote>();
    this.#byPod.set(podUid, notes);
    const before = notes.get(container);
    notes.set(container, note);
    const isOnDisk = JSON.stringify(durable(before)) === JSON.stringify(durable(note)) && !this.#unwritten.has(podUid);
    if (!isOnDisk) await this.#save(podUid);
  }

  /** Deletes the note of the container with this id. */
  async delete(podUid: string, container: string, id: string): Promise<void> {
    const note = this.get(podUid, container);
    if (note?.id !== id) return;
    this.#byPod.get(podUid)?.delete(container);
    if (durable(note) !== undefined) await this.#save(podUid);
  }

  /**
   * Deletes the note of a container that was removed before it ran. The restart of the attempt before that container is
   * pending again.
   */
  async neverRan(podUid: string, container: string, id: string): Promise<void> {
    const note = this.get(podUid, container);
    if (note?.id !== id) return;
    if (note.replaces === undefined) await this.delete(podUid, container, id);
    else await this.put(podUid, container, note.replaces);
  }

  /**
   * Drops the notes of a pod that no longer exists. The file of the pod is removed together with the pod's directory.
   */
  forget(podUid: string): void {
    this.#byPod.delete(podUid);
    this.#writes.delete(podUid);
    this.#unwritten.delete(podUid);
  }

  /**
   * Reads the notes file of a pod. A file that no kubelet wrote counts as empty. A file that cannot be read may contain
   * a pending restart (C6), so no restart is decided until it can be read.
   */
  async #fromFile(podUid: string): Promise<ReadonlyMap<string, ContainerNote>> {
    const path = this.#path(podUid);
    try {
      return parseNotes(await readFileBounded(this.#fs, path, MAX_FILE_BYTES));
    } catch (err) {
      if (isMissing(err)) return NOTHING;
      this.#logger.warn({ podUid, err }, 'Cannot read notes about containers');
      if (NOT_OURS.has(errorCode(err))) return NOTHING;
      throw new PodRuntimeError('UnreadableNotes', `read notes about containers of pod ${podUid}: ${errorText(err)}`, {
        cause: err,
      });
    }
  }

  /**
   * Writes the notes of a pod after its previous write has ended. A write that has not started yet includes notes that
   * change before its start.
   */
  #save(podUid: string): Promise<void> {
    const writes: Writes = this.#writes.get(podUid) ?? { last: Promise.resolve() };
    this.#writes.set(podUid, writes);
    writes.next ??= writes.last.then(() => {
      writes.next = undefined;
      return this.#write(podUid);
    });
    writes.last = writes.next;
    return writes.next;
  }

  async #write(podUid: string): Promise<void> {
    const path = this.#path(podUid);
    const notes = [...(this.#byPod.get(podUid) ?? NOTHING)].flatMap(([name, note]) => {
      const kept = durable(note);
      return kept === undefined ? [] : [[name, kept] as const];
    });
    this.#unwritten.delete(podUid);
    try {
      if (notes.length === 0) return await this.#fs.remove(path);
      await this.#fs.mkdir(dirname(path), { mode: 0o750 });
      await this.#fs.writeFileAtomic(path, JSON.stringify(Object.fromEntries(notes)), { mode: 0o600 });
    } catch (err) {
      if (isMissing(err)) return;
      if (this.#byPod.has(podUid)) this.#unwritten.add(podUid);
      this.#logger.warn({ podUid, err }, 'Failed to write notes about containers');
    }
  }

  /** Returns the path of a pod's notes file. The file name starts with a dot, so it equals no container name. */
  #path(podUid: string): string {
    return join(containerFilesPath(this.#rootDirectory, podUid, ''), '.notes.json');
  }
}

/** Adds the note of a container to its status. */
export function withNote(status: RuntimeContainerStatus, note: ContainerNote | undefined): RuntimeContainerStatus {
  const own = note?.replaces?.id === status.id ? note.replaces : note;
  if (own?.id !== status.id) return status;
  const { restart, postStart, hookFailed, starting }: ContainerNote = own;
  const mayRun = status.state !== 'created';
  const isUnfinished = status.state === 'running' && (postStart === true || starting !== undefined);
  return {
    ...status,
    ...(restart && mayRun && { restartOwed: restart }),
    ...(isUnfinished && { startUnfinished: true as const }),
    ...(hookFailed && status.state === 'running' && { hookFailed }),
  };
}

/** Returns the part of a note that is kept across a kubelet restart. */
function durable(note: ContainerNote | undefined): ContainerNote | undefined {
  if (note === undefined || !(note.restart || note.postStart || note.hookFailed || note.replaces)) return undefined;
  const { starting: _starting, ...kept } = note;
  return kept;
}

/** Parses the valid notes; a damaged file must not prevent the pod's status from being read. */
function parseNotes(bytes: Uint8Array): ReadonlyMap<string, ContainerNote> {
  const value = parsed(Buffer.from(bytes).toString());
  if (!isRecord(value)) return NOTHING;
  return new Map(Object.entries(value).flatMap(([name, note]) => (isNote(note) ? [[name, note] as const] : [])));
}

function isNote(value: unknown): value is ContainerNote {
  if (!isRecord(value) || typeof value.id !== 'string') return false;
  const { restart, postStart, hookFailed, replaces } = value;
  return (
    (restart === undefined || isRestartOwed(restart)) &&
    (postStart === undefined || postStart === true) &&
    (hookFailed === undefined || hookFailed === true) &&
    (replaces === undefined ||
      (isRecord(replaces) && typeof replaces.id === 'string' && isRestartOwed(replaces.restart)))
  );
}

function isRestartOwed(value: unknown): boolean {
  return isRecord(value) && typeof value.reason === 'string' && typeof value.message === 'string';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
