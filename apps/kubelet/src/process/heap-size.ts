/**
 * Heap settings of V8: `small`, with a young generation of 1 MiB; `roomy`, with a young generation of up to 4 MiB; or
 * `large`, with a young generation of 1 MiB and an old generation that may grow by half between two full collections.
 *
 * Measured with an in-memory runtime and API server: with `roomy`, a batch of 100 pods takes about 12% less CPU time
 * than with `small`. The RSS 20 s later is 104 MiB instead of 87 MiB. With the 100 pods at rest, CPU time is the same.
 * Without pods, 78 MiB are resident with either setting, and 87 after all pods were deleted. A young generation of up
 * to 2 MiB saves half as much CPU time; 6 or 8 MiB save no more than 4.
 *
 * With `small` or `roomy`, a kubelet that reads a list of 10,000 pods is stopped for up to 75 ms by a full collection:
 * full collections follow each other so quickly that V8's concurrent marking is not done when the next one is due. With
 * `large`, the longest stop is 4 ms, and reading the list takes a third less CPU time.
 */
export type HeapSize = 'small' | 'roomy' | 'large';

/**
 * Number of pods at and above which the heap size is `roomy`. With fewer pods, this kubelet would use more memory with
 * `roomy` than the Go kubelet does. The number assumes that the Go kubelet's memory grows linearly from 79 MiB without
 * pods to 116 MiB with 100. The size of a batch of pods is known within a second, long before most of its work is done.
 */
const ROOMY_FROM = 50;
/**
 * Number of pods below which the heap becomes small again. Lower than {@link ROOMY_FROM}, so that the settings do not
 * flip on a node whose pods come and go.
 */
const SMALL_BELOW = 30;
/** Number of pods at and above which the heap size is `large`: more than a node runs, so most of them have finished. */
const LARGE_FROM = 1000;
/** Number of pods below which the heap size is not `large` any more. */
const LARGE_UNTIL = 800;

/**
 * Returns the heap settings for a node with `pods` pods (mirror pods not counted) whose settings are `present`. With
 * few pods there is little garbage to collect, and memory matters most; with many, CPU time matters most.
 */
export function heapSizeFor(pods: number, present: HeapSize): HeapSize {
  if (pods >= LARGE_FROM) return 'large';
  if (pods >= LARGE_UNTIL && present === 'large') return 'large';
  if (pods >= ROOMY_FROM) return 'roomy';
  return pods < SMALL_BELOW || present === 'large' ? 'small' : present;
}

/**
 * V8 flag that is set once, at the start of the program, with which young generations are also collected while the old
 * generation is marked. Without it, the young generation would grow to 36 MB while a heap of 200 MB is marked, and the
 * program would stop for 40 ms until all of it is copied.
 */
export const COLLECTION_FLAG = '--no-separate-gc-phases';

/**
 * Returns the V8 flags for a heap size. V8 reads these flags at each collection (`Heap::CurrentHeapGrowingMode`,
 * `SemiSpaceNewSpace::Grow`, `MemoryController::GrowingFactor`), so they take effect from the next one.
 *
 * - `--semi-space-growth-factor`: with 1, the young generation keeps its initial 1 MiB. With 2, the young generation
 *   doubles while many objects survive, up to the `--max-semi-space-size` given at the start of the program. With
 *   `--optimize-for-size` among the start flags, that maximum would be 1 MiB.
 * - `--optimize-for-size`: each full collection returns as much memory as possible and shrinks the young generation.
 * - `--heap-growing-percent`: growth of the old generation between two full collections. With 0, V8 chooses; without
 *   `--optimize-for-size`, V8 would choose far more than the saved CPU time is worth.
 */
export function heapFlags(size: HeapSize): readonly string[] {
  switch (size) {
    case 'small':
      return ['--optimize-for-size', '--semi-space-growth-factor=1', '--heap-growing-percent=0'];
    case 'roomy':
      return ['--no-optimize-for-size', '--semi-space-growth-factor=2', '--heap-growing-percent=20'];
    case 'large':
      return ['--no-optimize-for-size', '--semi-space-growth-factor=1', '--heap-growing-percent=50'];
  }
}

/** V8 flags with which the kubelet starts: until all pod sources are ready, there may be a long list of pods to read. */
export const START_FLAGS: readonly string[] = [COLLECTION_FLAG, ...heapFlags('large')];
