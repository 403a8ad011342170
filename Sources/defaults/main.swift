import DefaultsCommand

Program.main()
