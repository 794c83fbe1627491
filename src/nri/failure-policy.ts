/**
 * The runtime's way with a request that this plugin does not answer, because it is late or its connection is lost
 * meanwhile. Without a policy the runtime drops the plugin, and the request goes on without it. A plugin that is not
 * connected is not asked, whatever its policy is.
 */
export interface FailurePolicy {
  /** The request fails. It may be any that the plugin subscribes to, also the end of a container. */
  readonly failRequest: boolean;
  /** A late answer does not end the connection; a lost connection always does. */
  readonly keepConnected: boolean;
}

/** The first release of NRI that acts on a policy; those before ignore it. */
const SINCE = [0, 12, 4] as const;

/**
 * Tells from the version of NRI that a runtime announces whether it acts on a policy; undefined when that can't be
 * known. Before NRI 0.12 none is announced.
 */
export function actsOnFailurePolicy(nriVersion: string | undefined): boolean | undefined {
  if (nriVersion === undefined) return false;
  // A version that goes on after its numbers is that of a build between two releases, or of none.
  const [, ...parts] = /^v?(\d+)\.(\d+)\.(\d+)$/.exec(nriVersion) ?? [];
  if (parts.length === 0) return undefined;
  const differs = SINCE.findIndex((part, i) => part !== Number(parts[i]));
  return differs === -1 || Number(parts[differs]) > SINCE[differs]!;
}
