export { Containerd, type ContainerdOptions, PAUSE_IMAGE } from './containerd.ts';
export {
  type ContainerdBinaries,
  cannotRun,
  type Found,
  findContainerd,
  findOrBuildContainerd24,
} from './find.ts';
export { type BuildImageOptions, buildImage, importImage, type WriteImageOptions, writeImage } from './image.ts';
export { mountsBelow, unmountBelow } from './leftovers.ts';
export { type TarEntry, tar } from './tar.ts';
