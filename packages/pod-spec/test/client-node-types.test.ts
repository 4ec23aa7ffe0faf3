import type * as client from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import type * as api from '../src/api.ts';
import { toWire, type Wire } from '../src/index.ts';

// The compiler checks the types of this file: `npm run typecheck` fails if one of them no longer fits.

/**
 * `true` if each type is assignable to the other, with optional fields as declared and also if all fields are required.
 */
type Same<A, B> = Fits<A, B> extends true ? Fits<Whole<A>, Whole<B>> : false;
type Fits<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** The type with all its fields required, also those of nested types. */
type Whole<T> = T extends readonly (infer E)[]
  ? readonly Whole<E>[]
  : T extends object
    ? { readonly [K in keyof T]-?: Whole<T[K]> }
    : T;

/** An API object of the client library, with required metadata: the library declares the metadata optional. */
type ObjectOf<T extends { readonly metadata?: unknown }> = Wire<T> & {
  readonly metadata: NonNullable<Wire<T>['metadata']>;
};

interface Comparison {
  readonly podSpec: Same<api.PodSpec, Wire<client.V1PodSpec>>;
  readonly podStatus: Same<api.PodStatus, Wire<client.V1PodStatus>>;
  readonly objectMeta: Same<api.ObjectMeta, Wire<client.V1ObjectMeta>>;
  readonly node: Same<api.Node, ObjectOf<client.V1Node>>;
  readonly namespace: Same<api.Namespace, ObjectOf<client.V1Namespace>>;
  readonly service: Same<api.Service, ObjectOf<client.V1Service>>;
  readonly secret: Same<api.Secret, ObjectOf<client.V1Secret>>;
  readonly configMap: Same<api.ConfigMap, ObjectOf<client.V1ConfigMap>>;
  readonly serviceAccount: Same<api.ServiceAccount, ObjectOf<client.V1ServiceAccount>>;
  readonly persistentVolume: Same<api.PersistentVolume, ObjectOf<client.V1PersistentVolume>>;
  readonly persistentVolumeClaim: Same<api.PersistentVolumeClaim, ObjectOf<client.V1PersistentVolumeClaim>>;
  readonly coreEvent: Same<api.CoreEvent, ObjectOf<client.CoreV1Event>>;
  readonly event: Same<api.Event, ObjectOf<client.EventsV1Event>>;
  readonly lease: Same<api.Lease, ObjectOf<client.V1Lease>>;
  readonly runtimeClass: Same<api.RuntimeClass, ObjectOf<client.V1RuntimeClass>>;
  readonly csiDriver: Same<api.CSIDriver, ObjectOf<client.V1CSIDriver>>;
  readonly csiNode: Same<api.CSINode, ObjectOf<client.V1CSINode>>;
  readonly volumeAttachment: Same<api.VolumeAttachment, ObjectOf<client.V1VolumeAttachment>>;
  readonly signingRequest: Same<api.CertificateSigningRequest, ObjectOf<client.V1CertificateSigningRequest>>;
  readonly clusterTrustBundle: Same<api.ClusterTrustBundle, ObjectOf<client.V1beta1ClusterTrustBundle>>;
  readonly tokenRequest: Same<api.TokenRequest, ObjectOf<client.AuthenticationV1TokenRequest>>;
  readonly tokenReview: Same<api.TokenReview, ObjectOf<client.V1TokenReview>>;
  readonly subjectAccessReview: Same<api.SubjectAccessReview, ObjectOf<client.V1SubjectAccessReview>>;
}

const same: Comparison = {
  podSpec: true,
  podStatus: true,
  objectMeta: true,
  node: true,
  namespace: true,
  service: true,
  secret: true,
  configMap: true,
  serviceAccount: true,
  persistentVolume: true,
  persistentVolumeClaim: true,
  coreEvent: true,
  event: true,
  lease: true,
  runtimeClass: true,
  csiDriver: true,
  csiNode: true,
  volumeAttachment: true,
  signingRequest: true,
  clusterTrustBundle: true,
  tokenRequest: true,
  tokenReview: true,
  subjectAccessReview: true,
};

test('every generated API type has the same fields as in the official client library', () => {
  expect(Object.values(same)).not.toContain(false);
});

test('objects of the client library without times can be used directly, and toWire converts times', () => {
  const container: client.V1Container = { name: 'web', image: 'nginx', ports: [{ containerPort: 80 }] };
  const status: client.V1ContainerStatus = {
    name: 'web',
    image: 'nginx',
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: new Date(0) } },
  };
  const asIs: api.Container = container;
  const onWire: api.ContainerStatus = toWire(status);
  const spec: api.PodSpec = toWire<client.V1PodSpec>({ containers: [container] });
  expect(spec.containers).toEqual([asIs]);
  expect(onWire.state?.running?.startedAt).toBe('1970-01-01T00:00:00.000Z');
});
