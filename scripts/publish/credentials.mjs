// Finds whether there are credentials for a host. It reads the names of hosts and of variables; no secret is kept or
// printed.
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { check } from './checks.mjs';

/**
 * Checks that a file of logins for registries names the host.
 * @param {string} host with its port
 * @param {'image' | 'chart'} kind helm has a file of its own
 */
export function checkRegistryLogin(host, kind) {
  const { env } = process;
  const config = env.XDG_CONFIG_HOME ?? join(homedir(), '.config');
  const files = [
    ...(kind === 'chart' ? [env.HELM_REGISTRY_CONFIG ?? join(config, 'helm/registry/config.json')] : []),
    ...(kind === 'image' ? [env.REGISTRY_AUTH_FILE, join(env.XDG_RUNTIME_DIR ?? '/run', 'containers/auth.json')] : []),
    join(env.DOCKER_CONFIG ?? join(homedir(), '.docker'), 'config.json'),
  ].filter((path) => path !== undefined);
  const login = kind === 'chart' ? `helm registry login ${host}` : `skopeo login ${host}, or crane auth login ${host}`;
  return check(
    `there is a login for ${host}`,
    files.some((path) => namesHost(path, host)),
    `${login}; looked in ${files.join(', ')}`,
  );
}

/** @param {string} path @param {string} host */
function namesHost(path, host) {
  if (!existsSync(path)) return false;
  const { auths = {}, credHelpers = {}, credsStore } = JSON.parse(readFileSync(path, 'utf8'));
  const names = Object.keys({ ...auths, ...credHelpers }).map((name) => name.replace(/^https?:\/\//, ''));
  return credsStore !== undefined || names.some((name) => name === host || name.startsWith(`${host}/`));
}

/**
 * Checks that curl finds the host in the user's file of logins.
 * @param {string} host without its port
 */
export function checkNetrc(host) {
  const path = process.env.NETRC ?? join(homedir(), '.netrc');
  const words = existsSync(path) ? readFileSync(path, 'utf8').split(/\s+/) : [];
  const names = words.filter((_word, i) => words[i - 1] === 'machine');
  return check(
    `${path} has a login for ${host}`,
    names.includes(host),
    `add a line: machine ${host} login ... password ...`,
  );
}

/**
 * Checks that npm has a token for the registry: the name of the setting, and of the variable that it takes.
 * @param {string} registry its address
 * @param {string} userConfig the path of the user's .npmrc
 */
export function checkNpmToken(registry, userConfig) {
  const { host, pathname } = new URL(registry);
  const key = `//${host}${pathname.replace(/\/*$/, '/')}:_authToken`;
  const lines = existsSync(userConfig) ? readFileSync(userConfig, 'utf8').split('\n') : [];
  const line = lines.find((text) => text.startsWith(`${key}=`));
  const [, variable] = /\$\{(\w+)\}/.exec(line ?? '') ?? [];
  const what = `${userConfig} has a token for ${registry}`;
  const token = line?.slice(key.length + 1).trim() ?? '';
  if (variable === undefined)
    return check(what, token !== '', `npm login --registry ${registry}; or a line ${key}=\${NPM_TOKEN}`);
  return check(`${what}, of the variable ${variable}`, (process.env[variable] ?? '') !== '', `set ${variable}`);
}
