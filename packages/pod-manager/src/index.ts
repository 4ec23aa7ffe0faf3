export { type PodAndMirrorPod, PodManager, type PodsAndMirrorPods } from './pod-manager.ts';
