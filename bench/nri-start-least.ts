/** The least that a plugin in Node does to be registered, for nri-start.ts. Argument: the socket to connect to. */
import { connect } from 'node:net';

import { RegisterPluginRequest } from '../gen/nri/v1alpha1/nri';
import { Mux, TtrpcClient } from '../src/wire';

const runtime = new TtrpcClient(new Mux(connect(process.argv[2]!)).open(2));
const request = RegisterPluginRequest.create({ pluginName: 'least', pluginIdx: '50' });
void runtime.call('nri.pkg.api.v1alpha1.Runtime', 'RegisterPlugin', RegisterPluginRequest.encode(request).finish());
