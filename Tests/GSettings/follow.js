const { Gio, GLib } = imports.gi;

const settings = new Gio.Settings({ schema_id: "org.defaultsd.test" });
settings.connect("changed::count", () => {
    print(settings.get_int("count"));
    settings.set_string("name", "gjs");
    Gio.Settings.sync();
    loop.quit();
});
print(settings.get_int("count"));
const loop = GLib.MainLoop.new(null, false);
loop.run();
