/** Propagation of later mounts between host and container, with the values of `volumeMounts[].mountPropagation`. */
export type MountPropagation = 'None' | 'HostToContainer' | 'Bidirectional';

/** A host path or image that is mounted into a container, for example for a volume or the hosts file. */
export interface Mount {
  readonly containerPath: string;
  /** Path on the host; empty for an image volume. */
  readonly hostPath: string;
  /**
   * Volume name and path in the image, for an image volume (KEP-4639), which the runtime mounts; absent for all other
   * mounts.
   */
  readonly imageVolume?: { readonly name: string; readonly subPath: string };
  readonly readOnly: boolean;
  /** Whether submounts are read-only too (`KEP-3857`); requires support by the runtime. */
  readonly recursiveReadOnly: boolean;
  /** Whether the runtime must relabel the files with the container's SELinux label. */
  readonly selinuxRelabel: boolean;
  readonly propagation: MountPropagation;
}

/** A device node of the host that a container may use. */
export interface Device {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Allowed access: any combination of `r`, `w` and `m` (mknod). */
  readonly permissions: string;
}
