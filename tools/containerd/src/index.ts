export { Containerd, type ContainerdOptions, PAUSE_IMAGE } from './containerd.ts';
export {
  type ContainerdBinaries,
  cannotRun,
  type Found,
  findContainerd,
  findOrBuildContainerd24,
} from './find.ts';
export { type BuildImageOptions, buildImage } from './image.ts';
