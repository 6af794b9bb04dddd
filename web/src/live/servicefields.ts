// The fields of the form that say which service a run measures.

import { element } from "../element";
import { request, type Service } from "./api";

const own = "", address = "\naddress"; // values that cannot be the name of a service
// example is a service that has no reflection.
const example = `service: orders
server: {addresses: ["127.0.0.1:8080"]}
calls:
  list: {http: GET, path: "/orders", check: "status == 200"}`;
const mix = "\nmix", flow = "\nflow"; // nor of a call

export class ServiceFields {
  private services: Service[] = [];
  private drafted: string[] = []; // calls of the service file below
  private found = { address: "", text: "" }; // the service file of an address
  private shown = ""; // the calls that the form offers
  private canCallAddress = false;
  private service = element("select", { id: "service" });
  private call = element("select", { id: "call" });
  private callField = element("div", { class: "field" }, element("label", { for: "call" }, "Call"), this.call);
  private shares = element("div", { class: "fields" });
  private mixField = element("fieldset", {}, element("legend", {}, "Share of each call, as a percentage such as 80% or a weight; empty: not called"), this.shares);
  private order = element("input", { id: "flow", type: "text", autocomplete: "off", spellcheck: "false" });
  private flowField = element("div", { class: "field" }, element("label", { for: "flow" }, "Calls of a flow in their order, with commas"), this.order);
  private at = element("input", { id: "address", type: "text", placeholder: "127.0.0.1:50051", autocomplete: "off" });
  private find = element("button", { type: "button", class: "action plain" }, "Find its methods");
  private text = element("textarea", { id: "file", rows: "14", spellcheck: "false", placeholder: example });
  private file = element("div", { class: "field" }, element("label", { for: "file" }, "Service file (the methods found need values that your service accepts)"), this.text);
  private problem = element("p", { role: "status", class: "warning" });
  readonly fields = [element("div", { class: "field" }, element("label", { for: "service" }, "Service"), this.service), this.callField];
  readonly details = element("div", {}, element("div", { class: "fields" }, element("div", { class: "field" }, element("label", { for: "address" }, "Address on the server's machine"), this.at), this.find), this.problem, this.file);
  readonly several = element("div", {}, this.mixField, this.flowField);

  constructor() {
    this.service.addEventListener("change", () => this.show());
    this.call.addEventListener("change", () => this.showSeveral());
    this.find.addEventListener("click", () => void this.draft({ address: this.at.value }));
    this.text.addEventListener("change", () => void (this.text.value && this.draft({ text: this.text.value })));
  }

  async fetch(): Promise<void> {
    const { services, address: canCall } = await request<{ services: Service[]; address: boolean }>("/api/v1/services");
    this.services = services;
    this.canCallAddress = canCall;
    this.requireOne(false);
  }

  // offered reports whether there is a service besides rpclab's own servers.
  offered(): boolean {
    return this.services.length > 0 || this.canCallAddress;
  }

  // requireOne offers rpclab's own servers only to experiments that compare.
  requireOne(required: boolean): void {
    const before = this.service.value;
    const options: [string, string][] = [...(required ? [] : [[own, "rpclab's own servers"] as [string, string]]), ...this.services.map((s): [string, string] => [s.name, s.name]), ...(this.canCallAddress ? [[address, "at an address …"] as [string, string]] : [])];
    this.service.replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
    if (options.some(([value]) => value === before)) this.service.value = before;
    this.fields[0].hidden = !this.offered();
    this.show();
  }

  // chosen returns the fields of the request.
  chosen(): Record<string, unknown> {
    switch (this.service.value) {
      case own:
        return {};
      case address:
        if (this.text.value === "") throw new Error("Find the methods of the address, or write a service file, first.");
        if (this.text.value === this.found.text && this.at.value !== this.found.address) throw new Error(`Find the methods of ${this.at.value} first: the service file is that of ${this.found.address}.`);
        return { service_text: this.text.value, ...this.calls() };
    }
    return { service: this.service.value, ...this.calls() };
  }

  // calls returns which calls of the service a run makes.
  private calls(): Record<string, unknown> {
    switch (this.call.value) {
      case mix:
        return { mix: Object.fromEntries([...this.shares.querySelectorAll("input")].filter((i) => i.value.trim()).map((i) => [i.name, i.value.trim()])) };
      case flow:
        return { flow: this.order.value.split(",").map((name) => name.trim()).filter((name) => name) };
    }
    return { call: this.call.value };
  }

  private show(): void {
    const chosen = this.service.value;
    this.details.hidden = chosen !== address;
    this.problem.hidden = this.problem.textContent === "";
    this.callField.hidden = chosen === own || (chosen === address && this.drafted.length === 0);
    this.offerCalls(chosen === address ? this.drafted : this.services.find((s) => s.name === chosen)?.calls ?? []);
  }

  // offerCalls leaves the form as it is if it offers these calls already.
  private offerCalls(calls: string[]): void {
    if (this.shown === calls.join("\n") && this.shown) return this.showSeveral();
    this.shown = calls.join("\n");
    const several: [string, string][] = calls.length > 1 ? [[mix, "several, by share (mix)"], [flow, "several, in order (flow)"]] : [];
    this.call.replaceChildren(...[...calls.map((c) => [c, c]), ...several].map(([value, label]) => element("option", { value }, label)));
    this.shares.replaceChildren(...calls.map((c, i) =>
      element("div", { class: "field share" }, element("label", { for: `share-${i}` }, c), element("input", { id: `share-${i}`, name: c, type: "text", value: "1", autocomplete: "off" }))));
    this.order.value = calls.join(", ");
    this.showSeveral();
  }

  private showSeveral(): void {
    this.mixField.hidden = this.call.value !== mix;
    this.flowField.hidden = this.call.value !== flow;
  }

  // draft fetches a service file of the methods at an address, or checks the one that the user wrote.
  private async draft(from: { address: string } | { text: string }): Promise<void> {
    this.find.disabled = "address" in from;
    this.problem.textContent = "";
    try {
      const { text, calls } = await request<{ text: string; calls: string[] }>("/api/v1/services/draft", from);
      if ("address" in from) {
        this.text.value = text;
        this.found = { address: from.address, text: this.text.value };
      }
      this.drafted = calls;
    } catch (error) {
      if ("text" in from) this.drafted = [];
      this.problem.textContent = error instanceof Error ? error.message : String(error);
    }
    this.find.disabled = false;
    this.show();
  }
}
