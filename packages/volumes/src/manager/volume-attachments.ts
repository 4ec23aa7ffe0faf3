/** Port to the node's status in the API server. */
export interface AttachedVolumes {
  /**
   * Returns the names in `status.volumesAttached` of the newest known Node object; `undefined` before the Node object is
   * known. Once `volumesReported` was called, the Node object must be at least as new as the reported status.
   */
  attachedVolumes(): readonly string[] | undefined;
}

/**
 * Decides whether node volumes may be staged: a controller attaches a volume to the node only while the node reports
 * that volume in `status.volumesInUse`, and detaches the volume afterwards. A volume is therefore staged only after its
 * use was reported and the controller has attached the volume (`GenerateVerifyControllerAttachedVolumeFunc` of
 * `pkg/volume/util/operationexecutor`).
 */
export class VolumeAttachments {
  readonly #source: AttachedVolumes | undefined;
  #reported: Set<string> = new Set();
  /** Volumes in the first report, which a former process may have mounted; `undefined` before the first report. */
  #former: readonly string[] | undefined;

  /** @param source the node's status; `undefined` without an API server, so that no volume counts as attached */
  constructor(source: AttachedVolumes | undefined) {
    this.#source = source;
  }

  /** Whether the list of the Node object is known. */
  get hasReport(): boolean {
    return this.#former !== undefined;
  }

  /** Records the volumes that the Node object in the API server lists in `volumesInUse`. */
  reported(names: readonly string[]): void {
    this.#former ??= names;
    this.#reported = new Set(names);
  }

  /** Records that a volume is no longer in use, so that its next use must be reported first. */
  released(uniqueName: string): void {
    this.#reported.delete(uniqueName);
  }

  /** Returns the names and those that a former process may have mounted; `undefined` before these are known. */
  withFormer(names: readonly string[]): readonly string[] | undefined {
    return this.#former && [...new Set([...names, ...this.#former])];
  }

  /** Returns whether an attachable volume may be staged. */
  isReady(uniqueName: string): boolean {
    return this.#reported.has(uniqueName) && this.isAttached(uniqueName) === true;
  }

  /** Returns whether the volume is attached according to the node's status; `undefined` if that is not known yet. */
  isAttached(uniqueName: string): boolean | undefined {
    return this.#source === undefined ? false : this.#source.attachedVolumes()?.includes(uniqueName);
  }
}
