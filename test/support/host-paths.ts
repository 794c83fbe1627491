/** A cpusetd with its defaults makes these paths on its host, or reads them. No test does: see daemon-paths.ts and environment.ts. */
export const HOST_PATHS = ['/run/cpusetd', '/var/lib/cpusetd', '/etc/cpusetd.yaml'] as const;
