import type {
  ContainerStatusResponse,
  CreateContainerResponse,
  ImageStatusResponse,
  PodSandboxStatusResponse,
  PullImageResponse,
  RunPodSandboxResponse,
  StatusResponse,
  VersionResponse,
} from './generated/types.ts';

/**
 * Returns the required field that is missing from a response, or `undefined` if the response is complete. An incomplete
 * response counts as a failed call: the runtime is faulty, or the server is not a runtime. Source:
 * `k8s.io/cri-client/pkg/utils.go` and the checks in `remote_runtime.go` and `remote_image.go`.
 */
export type ResponseCheck<Res> = (response: Res) => string | undefined;

export const checkVersion: ResponseCheck<VersionResponse> = (response) => {
  const fields = ['version', 'runtimeName', 'runtimeApiVersion', 'runtimeVersion'] as const;
  const missing = fields.filter((field) => response[field] === '');
  return missing.length === 0 ? undefined : `not all fields are set: ${missing.join(', ')} missing`;
};

export const checkRunPodSandbox: ResponseCheck<RunPodSandboxResponse> = (response) =>
  response.podSandboxId === '' ? 'podSandboxId is not set' : undefined;

export const checkCreateContainer: ResponseCheck<CreateContainerResponse> = (response) =>
  response.containerId === '' ? 'containerId is not set' : undefined;

export const checkPodSandboxStatus: ResponseCheck<PodSandboxStatusResponse> = ({ status }) => {
  if (status === null) return undefined;
  if (status.id === '') return 'status.id is not set';
  if (status.metadata === null) return 'status.metadata is not set';
  const { name, namespace, uid } = status.metadata;
  if (name === '' || namespace === '' || uid === '') return 'status.metadata has no name, namespace or uid';
  return status.createdAt === 0 ? 'status.createdAt is not set' : undefined;
};

export const checkContainerStatus: ResponseCheck<ContainerStatusResponse> = ({ status }) => {
  if (status === null) return undefined;
  if (status.id === '') return 'status.id is not set';
  if (status.metadata === null) return 'status.metadata is not set';
  if (status.metadata.name === '') return 'status.metadata has no name';
  if (status.createdAt === 0) return 'status.createdAt is not set';
  if (status.image === null || status.image.image === '') return 'status.image is not set';
  return status.imageRef === '' ? 'status.imageRef is not set' : undefined;
};

/** Returns the missing field in a response of Exec, Attach or PortForward. */
export const checkStreamingUrl: ResponseCheck<{ readonly url: string }> = ({ url }) =>
  url === '' ? 'url is not set' : undefined;

export const checkStatus: ResponseCheck<StatusResponse> = ({ status }) =>
  status === null || status.conditions.length < 2 ? 'RuntimeReady or NetworkReady condition are not set' : undefined;

export const checkImageStatus: ResponseCheck<ImageStatusResponse> = ({ image }) =>
  image !== null && (image.id === '' || image.size === 0) ? 'id or size of the image is not set' : undefined;

export const checkPullImage: ResponseCheck<PullImageResponse> = ({ imageRef }) =>
  imageRef === '' ? 'imageRef is not set' : undefined;
