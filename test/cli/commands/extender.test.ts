import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../e2e/rig/project-root';
import { runInProcess as cpusetd } from '../../support/run-cli';

const folder = mkdtempSync(join(tmpdir(), 'extender-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

const policy = ['--policy-config-path', join(projectRoot(), 'deploy/scheduling/policy.yaml')];
/** TLS without a client CA: it protects the server's answers, and not the cluster. */
const pair = ['--tls-cert-file', 'a.crt', '--tls-private-key-file', 'a.key'];
const local = [...policy, '--listen', '127.0.0.1:0'];

test.each`
  args                                                                             | message
  ${policy}                                                                        | ${'--listen: is not set; write an address like 127.0.0.1:8099'}
  ${[...policy, '--listen', '8099']}                                               | ${'--listen: "8099" is not an address with a port'}
  ${[...policy, '--listen', '0.0.0.0:8099']}                                       | ${'--listen 0.0.0.0:8099: is not loopback: whoever reaches it could bind pods; set --tls-cert-file, --tls-private-key-file and --client-ca-file'}
  ${[...policy, '--listen', '0.0.0.0:8099', ...pair]}                              | ${'--listen 0.0.0.0:8099: is not loopback'}
  ${[...policy, '--listen', '[::]:8099', ...pair, '--kubeconfig', 'off']}          | ${'and --client-ca-file, or listen on 127.0.0.1'}
  ${[...policy, '--listen', '10.0.0.1:8099', '--kubeconfig', 'off']}               | ${'is not loopback'}
  ${[...local, '--tls-cert-file', 'a.crt']}                                        | ${'--tls-cert-file and --tls-private-key-file: set both'}
  ${[...local, '--client-ca-file', 'ca.crt']}                                      | ${'--tls-cert-file and --tls-private-key-file: set both, also for --client-ca-file'}
  ${[...local, '--kubeconfig', 'relative']}                                        | ${'--kubeconfig: "relative" is not an absolute path'}
  ${[...local, '--kubeconfig', 'off', '--plugins', 'NodeResourceTopologyMatch=2']} | ${'--plugins: NodeResourceTopologyMatch needs the API server; set --kubeconfig, or leave the plugin out'}
  ${[...local, '--plugins', 'Dynamic']}                                            | ${'--plugins: "Dynamic" has a part that is no pair'}
  ${[...local, '--plugins', 'Static=1']}                                           | ${'--plugins: "Static=1" names Static, which is no plugin; choose from Dynamic, NodeResourceTopologyMatch'}
  ${[...local, '--plugins', 'Dynamic=0']}                                          | ${'--plugins: "Dynamic=0" gives Dynamic the weight 0; write a whole number from 1 to 1000, or leave the plugin out'}
  ${[...local, '--plugins', 'Dynamic=2.5']}                                        | ${'gives Dynamic the weight 2.5'}
  ${[...local, '--plugins', '']}                                                   | ${'names no plugin'}
  ${[...local, '--topology-aware-resources', 'cpu,,']}                             | ${'--topology-aware-resources: "cpu,," has a name that is no resource'}
  ${[...local, '--max-request-bytes', '1']}                                        | ${'--max-request-bytes: "1" is out of range'}
  ${[...local, '--time-zone', 'Mars/Base']}                                        | ${'--time-zone: Mars/Base is no time zone'}
  ${[...local, '--explain', 'web']}                                                | ${'--explain: "web" is no pod; write NAMESPACE/POD'}
`(
  'given $args: exit 2, and the message names input, rule and remedy',
  async ({ args, message }: { args: string[]; message: string }) => {
    const ended = await cpusetd(['extender', ...args]);
    expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
  },
);

test('given a policy file with a mistake: exit 1 with its line', async () => {
  const path = join(folder, 'policy.yaml');
  writeFileSync(
    path,
    'apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec: { priority: 1 }\n',
  );
  const args = ['--policy-config-path', path, '--listen', '127.0.0.1:0', '--kubeconfig', 'off'];
  const ended = await cpusetd(['extender', ...args]);
  expect(ended).toMatchObject({ status: 1, stderr: `cpusetd: ${path}:3: spec.priority: must be a list\n` });
});

test('given an address that is taken: exit 2, and the address', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const ended = await cpusetd(['extender', ...policy, '--listen', `127.0.0.1:${port}`, '--kubeconfig', 'off']);
    expect(ended).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`--listen 127.0.0.1:${port}: can't be listened on (EADDRINUSE)`),
    });
  } finally {
    server.close();
  }
});

test('given --explain and no extender at the address: exit 2, and the address', async () => {
  const ended = await cpusetd(['extender', '--listen', '127.0.0.1:1', '--explain', 'default/web']);
  expect(ended).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("the extender can't be asked: ECONNREFUSED"),
  });
});
