import { parseQuantity } from '@node-agent/pod-spec';
import type { ClaimData, PersistentVolumeData } from '../claims/claim-source.ts';

/** Annotation of a PVC whose volume, once expanded on one node, need not be expanded on other nodes. */
const NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required';
/** Conditions of a PVC that describe an expansion. */
const CONDITIONS: ReadonlySet<string> = new Set([
  'FileSystemResizePending',
  'Resizing',
  'ControllerResizeError',
  'NodeResizeError',
]);

/** State of a volume's expansion on this node. */
export interface NodeExpansion {
  /**
   * Size of the volume on this node, as a quantity. Initially the PVC's capacity when this kubelet first read the PVC.
   */
  readonly size?: string | undefined;
  /** Whether the last expansion on this node failed with a final error. */
  readonly hasFailed: boolean;
}

/** Next step of a volume's expansion. */
export type ExpansionStep =
  | { readonly step: 'none' }
  /** The volume is not expanded, because it is used read-only; only an event is sent. */
  | { readonly step: 'readOnly' }
  | {
      readonly step: 'expand';
      /** Requested size, as a quantity. */
      readonly size: string;
      /** Whether the PVC's status must be updated, because it does not have the new size yet. */
      readonly updatesClaim: boolean;
      /** Whether the controller tracks the expansion in `allocatedResourceStatuses` (KEP-1790). */
      readonly isFollowed: boolean;
      /**
       * Whether a final failure is reported as infeasible, which ends this expansion, because the PVC now requests
       * another size.
       */
      readonly endsOnFailure: boolean;
    };

const bytesOf = (quantity: string | undefined): bigint => parseQuantity(quantity ?? '0').value();

/**
 * Decides whether a volume is expanded on this node (`expandVolumeDuringMount`, `nodeExpandVolume` and `runPreCheck` of
 * `pkg/volume/util/operationexecutor`).
 */
export function nextExpansion(
  { metadata, spec, status }: ClaimData,
  persistent: PersistentVolumeData,
  readOnly: boolean,
  node: NodeExpansion,
): ExpansionStep {
  const capacity = status?.capacity?.storage;
  const desired = persistent.spec?.capacity?.storage;
  if (desired === undefined || capacity === undefined) return { step: 'none' };
  if (bytesOf(desired) <= bytesOf(node.size ?? capacity)) return { step: 'none' };
  if (readOnly) return { step: 'readOnly' };
  const resizeStatus = status?.allocatedResourceStatuses?.storage ?? '';
  const allocated = status?.allocatedResources?.storage;
  // Without a resize status and allocated resources, an older controller has expanded the volume without tracking the
  // expansion.
  if (resizeStatus === '' && status?.allocatedResources === undefined) {
    const updatesClaim = bytesOf(capacity) < bytesOf(desired);
    return { step: 'expand', size: desired, updatesClaim, isFollowed: false, endsOnFailure: false };
  }
  const size = allocated ?? desired;
  const isUpdated = bytesOf(capacity) >= bytesOf(size) && resizeStatus === '';
  const isOnAllNodes = spec?.accessModes?.includes('ReadWriteMany') && !(NOT_REQUIRED in (metadata.annotations ?? {}));
  const isPending = resizeStatus === 'NodeResizePending' || resizeStatus === 'NodeResizeInProgress';
  if (!isPending && !(isUpdated && isOnAllNodes)) return { step: 'none' };
  const requested = bytesOf(spec?.resources?.requests?.storage);
  const endsOnFailure = node.hasFailed && requested !== bytesOf(size);
  return { step: 'expand', size, updatesClaim: !isUpdated, isFollowed: true, endsOnFailure };
}

type Claim = Pick<ClaimData, 'metadata' | 'status'>;

/**
 * Returns a merge patch of a PVC's status. The patch contains the resource version, so that the API server refuses it
 * if the PVC has changed.
 */
function patchOf({ metadata }: Claim, status: object): object {
  return { metadata: { resourceVersion: metadata.resourceVersion }, status };
}

/** Returns the patch before the driver is called (`MarkNodeExpansionInProgress`). */
export function inProgressPatch(claim: Claim): object {
  return patchOf(claim, { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } });
}

/** Returns the patch after the expansion (`MarkNodeExpansionFinishedWithRecovery`, `MarkFSResizeFinished`). */
export function finishedPatch(claim: Claim, size: string): object {
  const { conditions = [], allocatedResourceStatuses = {} } = claim.status ?? {};
  const isOnly = Object.keys(allocatedResourceStatuses).every((name) => name === 'storage');
  return patchOf(claim, {
    capacity: { storage: size },
    allocatedResourceStatuses: isOnly ? null : { storage: null },
    conditions: conditions.filter(({ type }) => !CONDITIONS.has(type)),
  });
}

/**
 * Returns the patch after a final failure (`MarkNodeExpansionFailedCondition`, `MarkNodeExpansionInfeasible`); `undefined`
 * if the PVC shows the failure already. A condition of an earlier failure keeps its time and message
 * (`MergeResizeConditionOnPVC`).
 * @param isInfeasible whether the controller must choose another size
 * @param at time of the failure, in the API's format
 */
export function failedPatch(claim: Claim, why: string, isInfeasible: boolean, at: string): object | undefined {
  const conditions = claim.status?.conditions ?? [];
  const isShown = conditions.some(({ type, status }) => type === 'NodeResizeError' && status === 'True');
  if (isShown && !isInfeasible) return undefined;
  const kept = conditions.filter(({ type }) => type !== 'NodeResizeError');
  const message = `failed to expand pvc with ${why}`;
  const failed = { type: 'NodeResizeError', status: 'True', lastTransitionTime: at, message };
  return patchOf(claim, {
    ...(!isShown && { conditions: [...kept, failed] }),
    ...(isInfeasible && { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }),
  });
}
