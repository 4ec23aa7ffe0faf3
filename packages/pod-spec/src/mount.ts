/** How mounts made later cross between host and container, as `volumeMounts[].mountPropagation` words it. */
export type MountPropagation = 'None' | 'HostToContainer' | 'Bidirectional';

/** Something of the host that shows in a container: what volumes and the hosts file become. */
export interface Mount {
  readonly containerPath: string;
  /** '' where it shows an image. */
  readonly hostPath: string;
  /** For a volume made from an image (KEP-4639), which the runtime mounts: the volume, and what of the image shows. */
  readonly imageVolume?: { readonly name: string; readonly subPath: string };
  readonly readOnly: boolean;
  /** Whether submounts are read-only too (`KEP-3857`); needs a runtime that can. */
  readonly recursiveReadOnly: boolean;
  /** Whether the runtime shall give the files the container's SELinux label. */
  readonly selinuxRelabel: boolean;
  readonly propagation: MountPropagation;
}

/** A device node of the host that a container may use. */
export interface Device {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Any of `r`, `w`, `m` (mknod). */
  readonly permissions: string;
}
