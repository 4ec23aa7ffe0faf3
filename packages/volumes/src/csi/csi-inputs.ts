import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { attachmentName, CSI_PLUGIN, type CsiIdentity } from './csi-names.ts';
import type { CsiDriverData, CsiObjects, CsiTokens } from './csi-objects.ts';
import type { CsiSecretReference } from './csi-source.ts';
import { attachmentProblem, isAttachRequired } from './driver-rule.ts';

type Texts = Readonly<Record<string, string>>;

/** Key of the attribute or secret that contains the pod's service account tokens. */
const TOKENS = 'csi.storage.k8s.io/serviceAccount.tokens';

/** Dependencies of {@link CsiInputs}. */
export interface CsiInputsComponents {
  readonly objects: CsiObjects;
  readonly tokens: CsiTokens;
}

/**
 * Reads the inputs of driver calls from the API server: the result of the attach operation, secrets, tokens. An error
 * has the effect `unchanged`, because the driver was not called.
 */
export class CsiInputs {
  readonly #components: CsiInputsComponents;
  readonly #nodeName: string;

  constructor(components: CsiInputsComponents, nodeName: string) {
    this.#components = components;
    this.#nodeName = nodeName;
  }

  /**
   * Reads the CSIDriver object of a driver. @param step operation, for the error message. @throws VolumeError
   * `MissingObject`
   */
  async csiDriver(name: string, step: string, signal: AbortSignal): Promise<CsiDriverData | undefined> {
    return await untouched(signal, `${CSI_PLUGIN}: ${step}`, () => this.#components.objects.getCsiDriver(name, signal));
  }

  /** Returns whether a controller attaches a driver's volumes, according to the newest known CSIDriver object. */
  isAttached(driver: string): boolean {
    return isAttachRequired(this.#components.objects.knownCsiDriver(driver));
  }

  /** Returns whether a driver's volumes are published again at each sync of their pods (`RequiresRemount`). */
  requiresRepublish(driver: string): boolean {
    return this.#components.objects.knownCsiDriver(driver)?.spec.requiresRepublish === true;
  }

  /**
   * Returns the `attachmentMetadata` of the volume's VolumeAttachment; empty if the driver's volumes are not attached
   * (`getPublishContext`).
   * @throws VolumeError `NotAttached`
   */
  async publishContext(
    identity: CsiIdentity,
    csiDriver: CsiDriverData | undefined,
    signal: AbortSignal,
  ): Promise<Texts> {
    if (!isAttachRequired(csiDriver)) return {};
    const { handle } = identity;
    const name = attachmentName(identity, this.#nodeName);
    const attachment = await this.#components.objects.getVolumeAttachment(name, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const why = `volume ${handle} has GET error for volume attachment ${name}: ${errorText(error)}`;
      throw notAttached(why, error);
    });
    const problem = attachmentProblem(handle, name, attachment);
    if (problem !== undefined) throw notAttached(problem);
    return attachment?.status?.attachmentMetadata ?? {};
  }

  /**
   * Reads the secret that a volume refers to, with its values as text. @param field name of the reference, for the
   * error message. @param step operation, for the error message of operations in which upstream names it. @throws
   * VolumeError `MissingObject`, `InvalidSource`
   */
  async secrets(
    reference: CsiSecretReference | undefined,
    field: string,
    signal: AbortSignal,
    step?: string,
  ): Promise<Texts> {
    if (reference === undefined) return {};
    const { namespace, name } = reference;
    const shown = `${field} ${namespace}/${name}`;
    const what = step === undefined ? `fetching ${shown} failed` : `${step} failed to get ${shown}`;
    const secret = await untouched(signal, what, async () => {
      const found = await this.#components.objects.getSecret(namespace, name, signal);
      if (found !== undefined) return found;
      const why = `secrets "${name}" not found`;
      throw new Error(
        `${CSI_PLUGIN}: failed to find the secret ${name} in the namespace ${namespace} with error: ${why}`,
      );
    });
    return Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, value]) => [key, utf8(value, what, key)]));
  }

  /**
   * Returns the pod's tokens that the driver requests, in JSON by audience; empty if the driver requests none
   * (`podServiceAccountTokenAttrs`). @throws VolumeError `MissingObject`
   */
  async tokens(pod: Pod, csiDriver: CsiDriverData | undefined, signal: AbortSignal): Promise<Texts> {
    const { tokenRequests = [] } = csiDriver?.spec ?? {};
    if (tokenRequests.length === 0) return {};
    const what = `${CSI_PLUGIN}: mounter.SetUpAt failed to get service account token attributes`;
    const tokens = await untouched(signal, what, () =>
      Promise.all(
        tokenRequests.map(async (request) => {
          const { token, expiresAtMs } = await this.#components.tokens.requestToken(pod, request, signal);
          const expirationTimestamp = new Date(expiresAtMs).toISOString().replace(/\.\d+Z$/, 'Z');
          return [request.audience, { token, expirationTimestamp }] as const;
        }),
      ),
    );
    const sorted = tokens.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { [TOKENS]: JSON.stringify(Object.fromEntries(sorted)) };
  }
}

function notAttached(why: string, cause?: unknown): VolumeError {
  return new VolumeError('NotAttached', why, cause, { effect: 'unchanged' });
}

/** Reads an object. @throws VolumeError `MissingObject` whose effect is `unchanged`; the signal's reason */
async function untouched<T>(signal: AbortSignal, what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    throw new VolumeError('MissingObject', `${what}: ${errorText(error)}`, error, { effect: 'unchanged' });
  }
}

/** Decodes a value of a secret to text, because CSI requests contain secrets as text. */
function utf8(base64: string, what: string, key: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch (cause) {
    const message = `${what}: value of ${JSON.stringify(key)} must be UTF-8`;
    throw new VolumeError('InvalidSource', message, cause, { effect: 'unchanged' });
  }
}
