/** A manifest file in the static pod directory. */
export interface DirectoryFile {
  /** Name without the directory. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** `NAMESPACE/NAME` of the pods that the file defines, with the node's name at the end; empty for a broken file. */
  readonly pods: readonly string[];
}

/** A manifest that is to be applied. */
export interface NewManifest {
  readonly bytes: Uint8Array;
  /** Pods that the manifest defines, in the form of {@link DirectoryFile.pods}; not empty. */
  readonly pods: readonly string[];
  /** Name of the file if no file defines the pods yet. */
  readonly fileName: string;
}

/** The change of the directory, or the reason why there is none. */
export type Plan =
  | { readonly action: 'create' | 'replace' | 'keep' | 'remove'; readonly file: string }
  | { readonly action: 'refuse'; readonly because: string; readonly isMissing?: true };

/**
 * Decides how a manifest is applied. A file that defines the pods is replaced. A file that also defines other pods, or
 * several files, are refused, because a replacement would remove the other pods or leave duplicates.
 */
export function planApply(manifest: NewManifest, files: readonly DirectoryFile[]): Plan {
  const owners = files.filter(({ pods }) => pods.some((pod) => manifest.pods.includes(pod)));
  const [owner, another] = owners;
  if (another !== undefined) {
    const names = owners.map(({ name }) => name).join(', ');
    return { action: 'refuse', because: `several files define these pods: ${names}; apply each by itself` };
  }
  const target = owner ?? files.find(({ name }) => name === manifest.fileName);
  if (target === undefined) return { action: 'create', file: manifest.fileName };
  const others = target.pods.filter((pod) => !manifest.pods.includes(pod));
  if (others.length > 0) {
    return { action: 'refuse', because: `${target.name} also defines ${others.join(', ')}, which would be removed` };
  }
  const isSame = Buffer.compare(target.bytes, manifest.bytes) === 0;
  return { action: isSame ? 'keep' : 'replace', file: target.name };
}

/**
 * Decides which file is removed to delete pods. A file that also defines other pods is refused.
 * @param wanted `NAMESPACE/NAME` of the pods
 */
export function planDelete(wanted: readonly string[], files: readonly DirectoryFile[]): readonly Plan[] {
  const plans = new Map<string, Plan>();
  for (const pod of wanted) {
    const owners = files.filter(({ pods }) => pods.includes(pod));
    if (owners.length === 0) {
      plans.set(pod, { action: 'refuse', because: `no manifest in the directory defines ${pod}`, isMissing: true });
    }
    for (const { name, pods } of owners) {
      const others = pods.filter((other) => !wanted.includes(other));
      const because = `${name} also defines ${others.join(', ')}, which would be removed too`;
      plans.set(name, others.length > 0 ? { action: 'refuse', because } : { action: 'remove', file: name });
    }
  }
  return [...plans.values()];
}
