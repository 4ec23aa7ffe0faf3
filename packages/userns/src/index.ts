export { UserNamespaceError, type UserNamespaceErrorCode } from './errors.ts';
export { checkIdRange, DEFAULT_IDS_PER_POD, defaultIdRange, type IdRange, parseSubIds } from './id-range.ts';
export { kubeletIdRange, type SubIdComponents } from './kubelet-id-range.ts';
export { formatMappings, type IdMapping, MAPPINGS_FILE, parseMappings } from './mappings-file.ts';
export {
  type UserNamespaceMappings,
  UserNamespaces,
  type UserNamespacesComponents,
  type UserNamespacesOptions,
} from './user-namespaces.ts';
