export {
  CertificateManager,
  type CertificateManagerComponents,
  type CertificateManagerOptions,
} from './certificate-manager.ts';
export { type CertificatePair, type LeafCertificate, parsePair } from './certificate-pair.ts';
export type { SigningRequestClient } from './certificate-request.ts';
export {
  CertificateStore,
  type PairFiles,
  type StoreComponents,
  type StoreFiles,
  type StoreOptions,
} from './certificate-store.ts';
export { ClientCertificateCredentials, type ClientCredentialComponents } from './client-credentials.ts';
export { CertificateError, type CertificateErrorCode } from './errors.ts';
export { kubeconfigProblem, readPair, writeKubeconfig } from './node-kubeconfig.ts';
export { refuseOtherNode } from './other-node.ts';
export { PendingKey, type PendingKeyComponents } from './pending-key.ts';
export type { RequestIdentity } from './rotation-step.ts';
export { type SelfSignedComponents, SelfSignedFiles } from './self-signed-files.ts';
export { type ServingCertificate, serveWith } from './serving-certificate.ts';
export { ServingCertificateFiles, type ServingFileComponents } from './serving-files.ts';
export { type NodeAddress, servingSubject } from './serving-subject.ts';
export { type CertificateSubject, nodeSubject } from './subject.ts';
export type { CertificatePurpose } from './usages.ts';
