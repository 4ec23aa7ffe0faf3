export { type MirrorPodApi, type MirrorPodOwner, MirrorPods, type MirrorPodsComponents } from './mirror-pods.ts';
export { type PodAndMirrorPod, PodManager, type PodManagerComponents, type PodsAndMirrorPods } from './pod-manager.ts';
