/** On a disk of the machine, be it one of a network (iSCSI, nbd): how full they are is in the kernel's memory while they are mounted. */
const ON_DISKS = ['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'bcachefs', 'jfs', 'nilfs2', 'reiserfs'];
/** The same, of media that come and go. `fuseblk` is none: a program serves it. */
const ON_MEDIA = ['vfat', 'msdos', 'exfat', 'ntfs3', 'hfsplus', 'iso9660', 'udf'];
/** Read-only images: their size never changes, and is read when they are mounted. */
const OF_IMAGES = ['squashfs', 'erofs', 'cramfs'];
/** Nothing but memory. */
const IN_MEMORY = ['tmpfs', 'ramfs', 'rootfs', 'devtmpfs'];
/**
 * It asks the file system of its upper layer, and that is a disk wherever it is the root of a container that a kubelet runs
 * in. Where a layer is not, the deadline tells.
 */
const OVER_OTHERS = ['overlay'];

const SERVED: ReadonlySet<string> = new Set([...ON_DISKS, ...ON_MEDIA, ...OF_IMAGES, ...IN_MEMORY, ...OVER_OTHERS]);

/**
 * Whether the kernel answers by itself how full a file system of a type is. Not so where a server or a program is asked
 * (NFS, CIFS, 9p, Ceph, virtiofs, FUSE and its subtypes), where others share its locks (gfs2, ocfs2), where something may be
 * mounted first (autofs), where firmware is asked (efivarfs), and of all that is not known.
 */
export function isKernelServed(type: string | undefined): boolean {
  return type !== undefined && SERVED.has(type);
}
