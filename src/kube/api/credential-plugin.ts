import { spawn } from 'node:child_process';
import { isAbsolute, join } from 'node:path';
import { parseBoundedJson } from '../../core/bounded-json';
import { asArray, asObject, asString, type JsonObject } from '../json';

/** The `exec` of a kubeconfig's user. */
export interface CredentialPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The ExecCredential object for the plugin, as JSON. */
  readonly execInfo: string;
  /** Remedy of the kubeconfig's author for a missing command. */
  readonly installHint: string;
}

/** The credentials of a plugin. */
export interface PluginCredential {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** In ms since 1970; undefined = valid until the API server refuses it. */
  readonly expiresMs?: number;
}

const MAX_OUTPUT_CHARS = 1 << 20;

/**
 * Reads the `exec` of a user. Throws Error with a sentence for the operator when it can't be run without a terminal, or
 * names no command.
 */
export function readPlugin(exec: JsonObject, cluster: JsonObject, folder: string): CredentialPlugin {
  const command = asString(exec['command']);
  if (command === '') throw new Error('the credential plugin has no command');
  if (exec['interactiveMode'] === 'Always')
    throw new Error(
      `the credential plugin ${command} wants a terminal (interactiveMode Always), and a daemon has none`,
    );
  const spec = { interactive: false, ...(exec['provideClusterInfo'] === true && { cluster }) };
  return {
    command: command.includes('/') && !isAbsolute(command) ? join(folder, command) : command,
    args: asArray(exec['args']).map(String),
    env: Object.fromEntries(
      asArray(exec['env']).map((entry) => [asString(asObject(entry)['name']), asString(asObject(entry)['value'])]),
    ),
    execInfo: JSON.stringify({ apiVersion: exec['apiVersion'], kind: 'ExecCredential', spec }),
    installHint: asString(exec['installHint']),
  };
}

/**
 * Runs the plugin, which is any program, without blocking the daemon. Ends it and its children when the signal aborts.
 * Rejects with a sentence that names the plugin.
 */
export function runPlugin(plugin: CredentialPlugin, signal: AbortSignal): Promise<PluginCredential> {
  const { command, args, env, execInfo, installHint } = plugin;
  const name = `the credential plugin ${command}`;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: execInfo },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a process group, so that it can be ended as a whole
    });
    let hasEnded = false;
    const fail = (because: string): void => {
      reject(new Error(`${name} ${because}`));
      if (hasEnded || child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // it has ended already
      }
    };
    const stop = (): void => fail('did not end in time, and was killed');
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    let [output, complaint] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.length > MAX_OUTPUT_CHARS) fail('printed more than 1 MiB');
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-500)));
    child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      fail(`can't be run (${code ?? message})${installHint === '' ? '' : `: ${installHint.slice(0, 500)}`}`);
    });
    child.once('close', (status, killedBy) => {
      hasEnded = true;
      signal.removeEventListener('abort', stop);
      if (status !== 0) fail(`ended with ${status ?? killedBy}: ${complaint.trim() || 'it said nothing'}`);
      else {
        const credential = readCredential(output);
        if (credential) resolve(credential);
        else fail('printed no ExecCredential with a token or a certificate');
      }
    });
  });
}

function readCredential(output: string): PluginCredential | undefined {
  let status: JsonObject;
  try {
    status = asObject(asObject(parseBoundedJson(output))['status']);
  } catch {
    return undefined;
  }
  const token = asString(status['token']);
  const certificate = asString(status['clientCertificateData']);
  const key = asString(status['clientKeyData']);
  if (token === '' && (certificate === '' || key === '')) return undefined;
  const expiresMs = Date.parse(asString(status['expirationTimestamp']));
  return {
    ...(token !== '' && { token }),
    ...(certificate !== '' && key !== '' && { certificate, key }),
    ...(!Number.isNaN(expiresMs) && { expiresMs }),
  };
}
