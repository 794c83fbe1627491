import { envNameOf, nameOf, OPTION_KEYS } from './options';
import type { Setting, Source } from './setting';
import { excerpt } from '../../option-types/value-type';

const PREFIX = 'CPUSETD_';

/** Kubernetes describes each Service of the namespace in variables like these; one may be called cpusetd. */
const SERVICE_LINK = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/;

/** All variables that begin with CPUSETD_. An empty one counts as not set, as manifests often have them. */
export function readEnv(env: Readonly<Record<string, string | undefined>>): Source & { readonly configPath?: string } {
  const nameByVariable = new Map(OPTION_KEYS.map((key) => [envNameOf(key), nameOf(key)]));
  const settings: Setting[] = [];
  const problems: string[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || variable === 'CPUSETD_CONFIG' || !text) continue;
    const name = nameByVariable.get(variable);
    if (name !== undefined) settings.push({ name, text, origin: { kind: 'env', variable } });
    else if (!SERVICE_LINK.test(variable)) {
      problems.push(`${excerpt(variable)}: no such option; remove it, or see cpusetd run --help for the names`);
    }
  }
  return { settings, problems, ...(env['CPUSETD_CONFIG'] && { configPath: env['CPUSETD_CONFIG'] }) };
}
