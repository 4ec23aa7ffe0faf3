/**
 * Whether the place where this runs can vouch for what it builds: npm then asks it for a token and signs where the tarball
 * comes from. GitHub Actions with `id-token: write`, and GitLab CI with a `SIGSTORE_ID_TOKEN`.
 */
export function givesProvenance(env: Readonly<Record<string, string | undefined>>): boolean {
  const github = env.GITHUB_ACTIONS === 'true' && Boolean(env.ACTIONS_ID_TOKEN_REQUEST_URL);
  const gitlab = env.GITLAB_CI === 'true' && Boolean(env.SIGSTORE_ID_TOKEN);
  return github || gitlab;
}
