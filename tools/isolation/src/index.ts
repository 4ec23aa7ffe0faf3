export { destroyGroup, groupDirectories, hasProcesses, makeGroup } from './groups.ts';
export { type StartOptions, startIsolated } from './namespaces.ts';
export { bindOwnDirectories, makeMountPoints } from './own-directories.ts';
export { cgroupMounts, remountCgroups } from './remount-cgroups.ts';
