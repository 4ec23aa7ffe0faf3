import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { PodJournalPort } from '@node-agent/kubelet-core';
import type { PodRuntimeComponents } from '@node-agent/runtime';
import type { StatusApi } from '@node-agent/status';

type Cri = RuntimeService & ImageService;
type Images = PodRuntimeComponents['images'];
type Hooks = PodRuntimeComponents['hooks'];

/**
 * Maximum number of remembered containers that were created and not started yet. The runtime package starts only a few
 * containers at a time.
 */
const MAX_CREATED = 512;

/** Wraps a runtime so that the journal records the creation of sandboxes and the creation and start of containers. */
export function notedCri(cri: Cri, journal: PodJournalPort): Cri {
  const created = new Map<string, { readonly uid: string; readonly target: string }>();
  const noted: Pick<Cri, 'runPodSandbox' | 'createContainer' | 'startContainer'> = {
    async runPodSandbox(request, signal) {
      const uid = request.config?.metadata?.uid ?? '';
      return await journal.during(uid, 'Sandbox', {}, () => cri.runPodSandbox(request, signal), signal);
    },
    async createContainer(request, signal) {
      const uid = request.sandboxConfig?.metadata?.uid ?? '';
      const target = request.config?.metadata?.name ?? '';
      const create = () => cri.createContainer(request, signal);
      const answer = await journal.during(uid, 'CreateContainer', { target }, create, signal);
      created.set(answer.containerId, { uid, target });
      if (created.size > MAX_CREATED) created.delete(created.keys().next().value ?? '');
      return answer;
    },
    async startContainer(request, signal) {
      const { uid, target } = created.get(request.containerId ?? '') ?? { uid: '', target: '' };
      created.delete(request.containerId ?? '');
      const start = () => cri.startContainer(request, signal);
      return await journal.during(uid, 'StartContainer', { target }, start, signal);
    },
  };
  return new Proxy(cri, {
    get(target, name) {
      if (Object.hasOwn(noted, name)) return Reflect.get(noted, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Wraps the image puller so that the journal records the image that each container waits for. */
export function notedImages(images: Images, journal: PodJournalPort): Images {
  return {
    ensureImageExists: (pod, container, sandboxConfig, runtimeHandler, signal) => {
      const { image, name } = container;
      const detail = { ...(image !== undefined && { message: image }), ...(name !== undefined && { target: name }) };
      const ensure = () => images.ensureImageExists(pod, container, sandboxConfig, runtimeHandler, signal);
      return journal.during(pod.metadata.uid, 'Image', detail, ensure, signal);
    },
  };
}

/** Wraps the lifecycle hooks so that the journal records each postStart and preStop hook. */
export function notedHooks(hooks: Hooks, journal: PodJournalPort): Hooks {
  return {
    postStart: (pod, container, id, handler, signal) => {
      const run = () => hooks.postStart(pod, container, id, handler, signal);
      return journal.during(pod.metadata.uid, 'PostStart', { target: container.name }, run, signal);
    },
    preStop: (pod, container, id, handler, gracePeriodMs, signal) => {
      const run = () => hooks.preStop(pod, container, id, handler, gracePeriodMs, signal);
      return journal.during(pod.metadata.uid, 'PreStop', { target: container.name }, run, signal);
    },
  };
}

/**
 * Wraps the status API so that the journal records status updates.
 * @param podUid returns the UID of the static pod for the UID of its mirror pod
 */
export function notedStatusApi(api: StatusApi, journal: PodJournalPort, podUid: (uid: string) => string): StatusApi {
  return {
    getPod: (namespace, name, signal) => api.getPod(namespace, name, signal),
    patchPodStatus: (namespace, name, uid, body, signal) => {
      const patch = () => api.patchPodStatus(namespace, name, uid, body, signal);
      return journal.during(podUid(uid), 'StatusSent', {}, patch, signal);
    },
    deletePod: (namespace, name, preconditions, signal) => api.deletePod(namespace, name, preconditions, signal),
  };
}
