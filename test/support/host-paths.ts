/**
 * A cpusetd with its defaults makes these paths on its host, or reads them. No test does: see daemon-paths.ts and
 * environment.ts.
 */
export const HOST_PATHS = ['/run/cpusetd', '/var/lib/cpusetd', '/etc/cpusetd.yaml'] as const;

/**
 * Variables by which a command without options finds the daemon of its host. In the environment of a test file they
 * lead nowhere.
 */
export const HOST_VARIABLES = ['CPUSETD_ADMIN_SOCKET', 'CPUSETD_STATE_DIR'] as const;
