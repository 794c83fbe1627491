import { readEnv } from '../../../src/app/config/read-env';

test('variables of options are settings, and the variable of the config file is its path', () => {
  expect(readEnv({ CPUSETD_LOG_LEVEL: 'warn', CPUSETD_CONFIG: '/c', HOME: '/root' })).toEqual({
    settings: [{ name: 'log-level', text: 'warn', origin: { kind: 'env', variable: 'CPUSETD_LOG_LEVEL' } }],
    problems: [],
    configPath: '/c',
  });
});

test('an empty variable is not set', () => {
  expect(readEnv({ CPUSETD_LOG_LEVEL: '', CPUSETD_CONFIG: '', CPUSETD_NOPE: '' })).toEqual({
    settings: [],
    problems: [],
  });
});

test('an unknown variable is a problem, and a variable of a Kubernetes service is not', () => {
  const { problems } = readEnv({ CPUSETD_NOPE: '1', CPUSETD_PORT_9100_TCP_ADDR: '10.0.0.1' });
  expect(problems).toEqual([expect.stringMatching(/^CPUSETD_NOPE: no such option; remove it/)]);
});
