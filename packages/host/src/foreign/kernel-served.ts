/**
 * File systems on block devices of the machine, including network block devices (iSCSI, nbd). While they are mounted,
 * the kernel has their usage in memory.
 */
const ON_DISKS = ['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'bcachefs', 'jfs', 'nilfs2', 'reiserfs'];
/**
 * File systems on removable media, whose usage the kernel also has in memory. The list omits `fuseblk`, which a user
 * process serves.
 */
const ON_MEDIA = ['vfat', 'msdos', 'exfat', 'ntfs3', 'hfsplus', 'iso9660', 'udf'];
/** Read-only images, whose size never changes and is read at mount time. */
const OF_IMAGES = ['squashfs', 'erofs', 'cramfs'];
/** File systems that exist only in memory. */
const IN_MEMORY = ['tmpfs', 'ramfs', 'rootfs', 'devtmpfs'];
/**
 * Overlay mounts. A call to an overlay calls the file system of its upper layer. If a kubelet runs in a container, the
 * upper layer of the container's root is usually on a disk. If the upper layer is on another file system, a hanging
 * call ends at its deadline.
 */
const OVER_OTHERS = ['overlay'];

const SERVED: ReadonlySet<string> = new Set([...ON_DISKS, ...ON_MEDIA, ...OF_IMAGES, ...IN_MEMORY, ...OVER_OTHERS]);

/**
 * Returns whether the kernel itself knows the usage of a file system type. Returns false if a server or a user process
 * must respond (NFS, CIFS, 9p, Ceph, virtiofs, FUSE and its subtypes), if locks are shared with other machines (gfs2,
 * ocfs2), if an access may mount something (autofs), if firmware must respond (efivarfs), and for unknown types.
 */
export function isKernelServed(type: string | undefined): boolean {
  return type !== undefined && SERVED.has(type);
}
